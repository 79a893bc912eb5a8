/** Made of irwidget/views/schema by `npm run schema`: what Python sends as JSON. */

export type * from "./bufferization";
export type * from "./experiments";
export type * from "./layouts";
export type * from "./lowerings";
export type * from "./pipeline";
export type * from "./progress";
export type * from "./reducing";
export type * from "./schedule";
export type * from "./spyre";
export type * from "./sweep";

/**
 * The `_esm` of every view. The viewer itself is in one `Bundle` widget of the kernel and is loaded once per page,
 * so that a view weighs a kilobyte and showing it again loads nothing.
 */

import { importCode } from "./gzip";
import type { Model } from "./model";
import type { Context, Host, Render } from "./mount";

type Bundle = Promise<{ render: Render }>;

const loaded: Map<string, Bundle> = ((globalThis as Record<symbol, unknown>)[Symbol.for("irwidget")] ??=
  new Map()) as never;

async function rendered(bundle: Model, context: Context): Promise<() => void> {
  const version = bundle.get("version") as string;
  let module = loaded.get(version);
  if (!module) loaded.set(version, (module = importCode(bundle.get("code") as DataView<ArrayBuffer>)));
  return (await module).render(context);
}

export default {
  async render(context: Context & { host: Host }): Promise<() => void> {
    const bundle = await context.host.getModel(context.model.get("bundle") as string);
    let stop = rendered(bundle, context);
    /** While the browser side is developed, a bundle gets new code: see CONTRIBUTING.md. */
    const again = (): void => {
      stop = stop.then((close) => (close(), rendered(bundle, context)));
    };
    await stop;
    bundle.on("change:version", again);
    return () => {
      bundle.off("change:version", again);
      void stop.then((close) => close());
    };
  },
};

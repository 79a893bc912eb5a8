// Changes the code one place at a time and runs the tests that reach it: `make mutants-js`, see docs/mutants.md.
const core = ["diff", "blame", "shape", "columns", "names", "analysis", "unpack", "codec", "alignment"];

export default {
  mutate: core.map((name) => `src/${name}.ts`),
  testRunner: "vitest",
  vitest: { configFile: "vitest.mutants.mjs" },
  coverageAnalysis: "perTest",
  concurrency: 2,
  timeoutMS: 3000,
  timeoutFactor: 1.1,
  reporters: ["clear-text", "json", "progress-append-only"],
  jsonReporter: { fileName: "../build/mutants.json" },
  clearTextReporter: { allowColor: false, logTests: false, reportTests: false, reportScoreTable: true },
  tempDirName: "../build/stryker",
  thresholds: { high: 95, low: 85, break: 85 },
  disableTypeChecks: false,
  tsconfigFile: "no-such-tsconfig.json",
  allowEmpty: true,
};

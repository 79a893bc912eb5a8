// Builds ../irwidget/static. With --check it builds in memory and compares with what is committed; with --watch it goes
// on, and builds again what a change of the source changes.
import { build, context } from "esbuild";
import { readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const out = fileURLToPath(new URL("../irwidget/static/", import.meta.url));

const minify = !process.argv.includes("--debug");

/** `import text from "./x.css?inline"`: the sheet with its @imports, as Vite reads it in the tests. */
const inlineCss = {
  name: "inline-css",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\.css\?inline$/ }, ({ path, resolveDir }) => ({
      path: join(resolveDir, path.replace("?inline", "")),
      namespace: "inline-css",
    }));
    onLoad({ filter: /./, namespace: "inline-css" }, async ({ path }) => {
      const sheet = await build({ entryPoints: [path], bundle: true, minify, write: false, metafile: true });
      const watchFiles = Object.keys(sheet.metafile.inputs).map((file) => resolve(file));
      return { contents: sheet.outputFiles[0].text.trim(), loader: "text", watchFiles };
    });
  },
};

const common = {
  absWorkingDir: here,
  bundle: true,
  format: "esm",
  target: "es2022",
  minify,
  charset: "ascii",
  legalComments: "none",
  plugins: [inlineCss],
  write: false,
  outdir: out,
};

const views = {
  ...common,
  entryPoints: {
    viewer: "src/viewer.ts",
    stub: "src/stub.ts",
    page: "src/page.ts",
    progress: "src/progress/main.ts",
    helion: "src/helion/main.ts",
    pipeline: "src/pipeline/main.ts",
    schedule: "src/schedule/main.ts",
    spyre: "src/spyre/main.ts",
    sweep: "src/sweep/main.ts",
  },
};
// A worker of a page that was opened from disk cannot be a module, nor the remote that JupyterLab loads.
const worker = { ...common, format: "iife", entryPoints: { graph: "src/graph.ts", lab: "src/lab.ts" } };

if (process.argv.includes("--watch")) {
  for (const one of [views, worker]) {
    await (await context({ ...one, write: true, logLevel: "info" })).watch();
  }
} else {
  const results = await Promise.all([views, worker].map((one) => build(one)));
  await take(results.flatMap(({ outputFiles }) => outputFiles));
}

async function take(files) {
  let stale = 0;
  for (const file of files) {
    const name = file.path.slice(out.length);
    if (process.argv.includes("--check")) {
      const committed = await readFile(file.path).catch(() => Buffer.alloc(0));
      if (!committed.equals(Buffer.from(file.contents))) {
        stale++;
        console.error(
          `irwidget/static/${name} is not what the source builds: run npm --prefix js run build and commit it`,
        );
      }
    } else {
      await writeFile(file.path, file.contents);
      console.log(`irwidget/static/${name} ${(file.contents.length / 1000).toFixed(1)} kB`);
    }
  }
  process.exitCode = stale ? 1 : 0;
}

// Pure parts in Node, layout in the Chromium of this machine; without one, a line says what is skipped.
import { playwright } from "@vitest/browser-playwright";
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { defineConfig } from "vitest/config";

const named = ["chromium", "chromium-browser", "google-chrome"];
const executablePath = named
  .flatMap((name) => process.env.PATH.split(delimiter).map((folder) => join(folder, name)))
  .find((path) => existsSync(path));
if (!executablePath) console.error("not installed: chromium (apt-get install chromium); skipped: test/layout");

const unit = { test: { name: "unit", include: ["test/*.test.ts"], testTimeout: 60_000 } };
const layout = {
  test: {
    name: "layout",
    include: ["test/layout/*.test.ts"],
    testTimeout: 60_000,
    browser: {
      enabled: true,
      headless: true,
      screenshotFailures: false,
      provider: playwright({ launchOptions: { executablePath, args: ["--no-sandbox"] } }),
      instances: [{ browser: "chromium", viewport: { width: 1200, height: 800 } }],
    },
  },
};

export default defineConfig({ test: { projects: executablePath ? [unit, layout] : [unit] } });

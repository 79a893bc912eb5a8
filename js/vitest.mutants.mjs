// The tests that need no browser: each mutant runs those that reach it.
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["test/*.test.ts"], testTimeout: 30_000 } });

import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    environment: "happy-dom",
    include: ["tests/**/*.test.ts"],
    // One process is enough for tests that take milliseconds, and leaves the machine to others.
    pool: "threads",
    poolOptions: { threads: { singleThread: true } },
    isolate: true,
    passWithNoTests: false,
    testTimeout: 20_000,
  },
});

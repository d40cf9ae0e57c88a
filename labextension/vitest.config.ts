import { defineConfig } from "vitest/config";
import { bundledForTests } from "./bundled.mjs";

export default defineConfig({
  plugins: [bundledForTests()],
  test: {
    environment: "happy-dom",
    include: ["tests/**/*.test.ts"],
    // The tests take milliseconds; one thread leaves the machine to others.
    pool: "threads",
    poolOptions: { threads: { singleThread: true } },
    testTimeout: 20_000,
  },
});

/** The random test of live queries with 10,000 rounds. */
process.env["ROUNDS"] ??= "10000";
await import("../../packages/server/src/live/realtime/live-random.test.ts");

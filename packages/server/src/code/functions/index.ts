/** Functions: triggers, deliveries that survive a crash, and their runs. */
export { checkFunction, Functions } from "./functions.ts";
export { eventAfter } from "./hook-files.ts";
export type { HookMeter } from "./hook-meter.ts";
export { functionSchema } from "./schema.ts";

/** Functions: triggers, deliveries that survive a crash, and their runs. */
export { Functions } from "./functions.ts";
export { functionSchema } from "./schema.ts";
export { triggersOf } from "./triggers.ts";

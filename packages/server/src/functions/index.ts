/** Functions: triggers, deliveries that survive a crash, and their runs. */
export { functionSchema } from "./deliveries.ts";
export { Functions } from "./functions.ts";

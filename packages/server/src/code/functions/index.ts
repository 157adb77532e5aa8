/** Functions: triggers, deliveries that survive a crash, and their runs. */
export { checkFunction, Functions } from "./functions.ts";
export { functionSchema } from "./schema.ts";

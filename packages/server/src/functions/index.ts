/** Functions: triggers, deliveries that survive a crash, and their runs. */
export { functionSchema } from "./delivery-table.ts";
export { checkFunction, Functions } from "./functions.ts";

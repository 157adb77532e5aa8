/** The parts of an import, which a service loads with the first import. */
export { Import } from "./import.ts";
export { readSettings } from "./settings.ts";
export { withSpooled } from "./spool.ts";

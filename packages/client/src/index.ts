/** The TypeScript client of Socle. */
export { type ClientOptions, type CollectionClient, type NewRecord, SocleClient } from "./client.ts";
export { SocleError } from "./error.ts";

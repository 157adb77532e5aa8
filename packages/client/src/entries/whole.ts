/** The client with all entry points in one module, as `/_/client.js` and `socle client` give the client. */
export * from "../index.ts";
export { admin } from "./admin.ts";
export { auth } from "./auth.ts";
export { live, liveWithChannels } from "./live.ts";
export * from "./server.ts";
export { storage } from "./storage.ts";

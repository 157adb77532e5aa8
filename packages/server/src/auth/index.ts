/** Auth: users, sessions and tokens; from an access token to the principal it stands for. */
export { Auth } from "./auth.ts";
export { readCredentials, readPassword } from "./credentials.ts";
export { authSchema } from "./schema.ts";
export type { SessionChange, SessionEntry } from "./sessions.ts";
export type { NewUser, Users } from "./users.ts";

/** Auth: users, sessions and tokens; from an access token to the principal it stands for. */
export { Auth, type AuthHooks, type AuthStep } from "./auth.ts";
export { readCredentials, readPassword, readRole } from "./credentials.ts";
export type { PasswordCaller } from "./passwords.ts";
export { authSchema } from "./schema.ts";
export type { SessionChange } from "./sessions.ts";
export { userQueryTable, userTable } from "./user-table.ts";
export type { Users } from "./users.ts";

/** Auth: users, sessions and tokens; finds the principal of an access token. */
export { Auth, type AuthHooks, type AuthStep } from "./auth.ts";
export type { PasswordCaller } from "./passwords.ts";
export { authSchema } from "./schema.ts";
export { readCredentials, readPassword, type Users, userQueryTable, userTable } from "./users.ts";

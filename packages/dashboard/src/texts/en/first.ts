/** Texts of the sign-in and the set-up, and with the shared texts all that the first paint needs. */
import { count } from "./count.ts";
import * as shared from "./shared.ts";

const login = {
  pageTitle: "Sign in",
  title: "Sign in to Socle",
  email: "Email",
  password: "Password",
  submit: "Sign in",
  notAdmin: "This account is not an admin. The dashboard is for admins only.",
  noEmail: "This is not an email address.",
  noPassword: "A password is needed.",
  shortPassword: (min: number) => `The password needs at least ${count(min, "character")}.`,
  passwordMust: "The password must",
  wrong: "The email or the password is wrong.",
  code: "Code",
  codeHint: "Your account has a second factor: type the six digits that your authenticator app shows.",
  wrongCode: "The code is wrong, or was used before. The app shows another code every 30 seconds.",
  recoveryCode: "Recovery code",
  recoveryHint: "Type a recovery code. Each code works once.",
  wrongRecoveryCode: "The recovery code is wrong, or was used before.",
  useRecoveryCode: "Use a recovery code",
  useCode: "Use a code of the app",
  usePasskey: "Use a passkey",
  back: "Back",
  expiredTitle: "Your session has ended",
  expiredBody: "Sign in again to go on. Everything on the page stays as it is.",
  recentTitle: "Sign in again to go on",
  recentBody: "A change of credentials needs a sign-in of the last ten minutes. Everything on the page stays as it is.",
  otherAccount: "Leave, and use another account",
  noAdmin: "No admin yet? The service prints a set-up link when it starts. On the command line:",
};

const setup = {
  pageTitle: "Set up",
  title: "Welcome to Socle",
  body: "Make the first admin of this service. You will be signed in at once.",
  passwordHint: (min: number) => `At least ${count(min, "character")}.`,
  submit: "Create the admin",
  overTitle: "This link does not work any more",
  overBody:
    "An admin exists already, or the link is older than 30 minutes. A restart of the service prints a new link as long as no admin exists.",
  toLogin: "Go to the sign-in",
};

export const first = { ...shared, login, setup };

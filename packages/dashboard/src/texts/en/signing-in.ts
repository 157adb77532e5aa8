/** Texts of the pages login and setup. */
import { count } from "./count.ts";

export const login = {
  pageTitle: "Sign in",
  title: "Sign in to Socle",
  email: "Email",
  password: "Password",
  submit: "Sign in",
  notAdmin: "This account is not an admin's. The dashboard is for admins only.",
  noEmail: "This is no email address.",
  noPassword: "A password is needed.",
  shortPassword: (min: number) => `The password needs at least ${count(min, "character")}.`,
  passwordMust: "The password must",
  wrong: "The email or the password is wrong.",
  expiredTitle: "Your session has ended",
  expiredBody: "Sign in again to go on. Everything on the page stays as it is.",
  otherAccount: "Leave, and use another account",
  noAdmin: "No admin yet? The service prints a set-up link when it starts. On the command line:",
};

export const setup = {
  pageTitle: "Set up",
  title: "Welcome to Socle",
  body: "Make the first admin of this service. You will be signed in at once.",
  passwordHint: (min: number) => `At least ${count(min, "character")}.`,
  submit: "Create the admin",
  overTitle: "This link works no more",
  overBody:
    "There is an admin already, or the link is older than 30 minutes. A restart of the service prints a new one as long as there is no admin.",
  toLogin: "Go to the sign-in",
};

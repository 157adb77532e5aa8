/**
 * Texts of the auth pages: the built-in English, and the files `pages/auth.json` and `pages/auth.{language}.json` of the project,
 * which replace texts by their names. The language of a page is the first language that the browser accepts and a file has.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { adviceOnName, isObject, quote, readJsonFile, SetupError } from "../../base/kernel/index.ts";

/** Texts by name. `{email}` stands for a value that the page fills in. */
const english = {
  email: "Email",
  password: "Password",
  newPassword: "New password",
  passwordHint: "At least {count} characters",
  toApp: "Back to the app",
  tooMany: "Too many tries. Wait some minutes, then try again.",
  "link.invalid": "This link does not work any more. Ask for a new mail.",
  "verify.title": "Confirm your email address",
  "verify.body": "Press the button to confirm that this address is yours.",
  "verify.password": "Your password",
  "verify.passwordHint":
    "The password that you chose at registration. Leave this empty if you did not register yourself: then the password is removed.",
  "verify.submit": "Confirm",
  "verify.done": "Your email address is confirmed.",
  "reset.title": "Choose a new password",
  "reset.submit": "Save the password",
  "reset.done": "The password is saved. All devices are signed out. Sign in with the new password.",
  "invitation.title": "Accept the invitation",
  "invitation.body": "Choose a password for your account.",
  "invitation.submit": "Create the account",
  "invitation.done": "Your account is ready. Sign in with your email address and the password.",
  "change.title": "Confirm your new email address",
  "change.body": "Press the button to use this address from now on.",
  "change.submit": "Confirm",
  "change.done": "Your account has the new email address.",
  "forgot.title": "Forgot your password?",
  "forgot.body": "Enter your email address. You get a mail with a link to choose a new password.",
  "forgot.submit": "Send the link",
  "forgot.done": "If an account has this address, a mail is on its way.",
  "signIn.title": "Sign in",
  "signIn.submit": "Sign in",
  "signIn.with": "Sign in with {name}",
  "signIn.code": "Sign in with a code by mail",
  "signIn.passkey": "Sign in with a passkey",
  "signIn.other": "Sign in in another way",
  "signIn.forgot": "Forgot your password?",
  "signIn.again": "Go back to the app and begin the sign-in again.",
  "signIn.wrong": "The email or the password is wrong.",
  "signIn.over": "This step does not work any more. Sign in again.",
  "signIn.stale": "The page was open for too long, or the browser keeps no cookies. Try again.",
  "signIn.cancelled": "The sign-in was cancelled.",
  "signIn.failed": "The sign-in at the provider did not work. Try again, or sign in in another way.",
  "passkey.failed": "The passkey did not work. Try again, or sign in in another way.",
  "code.title": "Sign in with a code",
  "code.body": "Enter your email address. You get a mail with a code.",
  "code.send": "Send the code",
  "code.sent": "If an account has this address, a mail with a code is on its way.",
  "code.code": "Code from the mail",
  "code.submit": "Sign in",
  "code.again": "Send another code",
  "code.form": "The code has six digits.",
  "code.wrong": "The code is wrong or does not work any more.",
  "factor.title": "Second step",
  "factor.body": "Enter the code of your authenticator app, or a recovery code.",
  "factor.code": "Code",
  "factor.submit": "Continue",
  "factor.passkey": "Use a passkey",
  "factor.wrong": "The code is wrong, or was used before.",
} as const;

export type TextName = keyof typeof english;
type PageTexts = { readonly [name in TextName]: string };

/** The texts of a language. */
export interface LanguageTexts {
  readonly language: string;
  text(name: TextName, values?: { readonly [name: string]: string }): string;
}

const names = Object.keys(english);
const fileForm = /^auth(?:\.([a-z]{2,3}(?:-[a-z0-9]{2,8})?))?\.json$/i;

function inLanguage(language: string, texts: PageTexts): LanguageTexts {
  return {
    language,
    text: (name, values = {}) => texts[name].replace(/\{(\w+)\}/g, (whole, key: string) => values[key] ?? whole),
  };
}

/** @throws SetupError for a file that is no object of texts, and for an unknown name. */
async function readTexts(path: string): Promise<Partial<PageTexts>> {
  const read = await readJsonFile(path);
  if (!isObject(read)) throw new SetupError(`${path}: must be a JSON object of texts by name`);
  for (const [name, value] of Object.entries(read)) {
    if (!Object.hasOwn(english, name))
      throw new SetupError(`${path}: there is no text ${quote(name)}.${adviceOnName(name, names)}`);
    if (typeof value !== "string") throw new SetupError(`${path}: ${name} must be a string`);
  }
  return read;
}

export class AuthPageTexts {
  readonly #general: LanguageTexts;
  readonly #byLanguage: ReadonlyMap<string, LanguageTexts>;

  private constructor(general: LanguageTexts, byLanguage: ReadonlyMap<string, LanguageTexts>) {
    this.#general = general;
    this.#byLanguage = byLanguage;
  }

  /** @param folder the folder `pages` of the project, which may be missing. @throws SetupError for a bad file. */
  static async open(folder: string): Promise<AuthPageTexts> {
    const files = existsSync(folder) ? readdirSync(folder).filter((file) => fileForm.test(file)) : [];
    const general: PageTexts = {
      ...english,
      ...(files.includes("auth.json") && (await readTexts(join(folder, "auth.json")))),
    };
    const byLanguage = new Map<string, LanguageTexts>();
    for (const file of files) {
      const language = fileForm.exec(file)?.[1]?.toLowerCase();
      if (language === undefined) continue;
      byLanguage.set(language, inLanguage(language, { ...general, ...(await readTexts(join(folder, file))) }));
    }
    return new AuthPageTexts(inLanguage("en", general), byLanguage);
  }

  /** The texts in the language of a request (RFC 9110, 12.5.4). */
  of(request: Request): LanguageTexts {
    if (this.#byLanguage.size === 0) return this.#general;
    for (const language of languagesOf(request)) {
      const found = this.#byLanguage.get(language) ?? this.#byLanguage.get(language.split("-")[0] ?? "");
      if (found !== undefined) return found;
      if (language.split("-")[0] === "en") return this.#general;
    }
    return this.#general;
  }
}

/** The accepted languages of a request in lower case, the preferred language first. */
function languagesOf({ headers }: Request): string[] {
  const accepted = (headers.get("accept-language") ?? "").slice(0, 500).split(",");
  return accepted
    .map((entry) => {
      const [tag = "", ...parameters] = entry.split(";").map((part) => part.trim());
      const quality = parameters.find((parameter) => parameter.startsWith("q="));
      return { tag: tag.toLowerCase(), quality: quality === undefined ? 1 : Number(quality.slice(2)) };
    })
    .filter(({ tag, quality }) => tag !== "" && quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ tag }) => tag);
}

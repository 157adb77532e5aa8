/** Built-in texts of mails, and the placeholders that the texts of each kind may have. */

/** The values that the cause of a mail gives, by kind. A link and a code are secrets. */
export interface MailValues {
  /** Proves the address of an account. */
  readonly verify: { readonly link: string };
  /** Sets a new password. */
  readonly reset: { readonly link: string };
  /** Proves the new address of an account. `account` is the present address. */
  readonly email: { readonly link: string; readonly account: string };
  /** Signs in. */
  readonly code: { readonly code: string };
  /** Invites a person to an account that somebody else has made. */
  readonly invitation: { readonly link: string };
  /** Tells of a change of credentials. `change` is a plain sentence; `origin` names the address and the browser of the caller. */
  readonly notice: { readonly change: string; readonly origin: string };
  /** Tells an operator that a condition of the service has begun, or is over. `state` is "Alarm" or "Over". */
  readonly alert: {
    readonly state: string;
    readonly condition: string;
    readonly remedy: string;
    readonly since: string;
  };
  /** Tells the owner of an address that somebody tried to register with the address. */
  readonly taken: Readonly<Record<never, string>>;
}

export type MailKind = keyof MailValues;

/** Placeholders of every kind: the name of the service, and the address of the recipient. */
export const commonPlaceholders = ["app", "to"] as const;

/** The further placeholders of each kind, and the built-in text. */
export const mailKinds: {
  readonly [Kind in MailKind]: { readonly placeholders: readonly (keyof MailValues[Kind])[]; readonly text: string };
} = {
  verify: {
    placeholders: ["link"],
    text: `Subject: Confirm your email address

Hello,

{{to}} was given as the email address of an account of {{app}}. Open this link to confirm the address:

{{link}}

The link works once, for a limited time. If you did not ask for this mail, ignore the mail.
`,
  },
  reset: {
    placeholders: ["link"],
    text: `Subject: Set a new password

Hello,

somebody asked for a new password for your account of {{app}}. Open this link to set the password:

{{link}}

The link works once, for a limited time. If you did not ask for this mail, ignore the mail: your password stays as it is.
`,
  },
  email: {
    placeholders: ["link", "account"],
    text: `Subject: Confirm your new email address

Hello,

{{to}} is to become the email address of the account {{account}} of {{app}}. If this is your account, open this link to confirm the address:

{{link}}

The link works once, for a limited time. If you did not ask for this mail, ignore the mail.
`,
  },
  code: {
    placeholders: ["code"],
    text: `Subject: Your code for {{app}}

Hello,

this is your code to sign in to {{app}}:

{{code}}

The code works once, for ten minutes. Give the code to nobody. If you did not ask for this mail, ignore the mail.
`,
  },
  invitation: {
    placeholders: ["link"],
    text: `Subject: You are invited to {{app}}

Hello,

an account of {{app}} was made for you. Open this link to set your password:

{{link}}

The link works once, for a limited time. If you do not want the account, ignore the mail.
`,
  },
  notice: {
    placeholders: ["change", "origin"],
    text: `Subject: Your account of {{app}} was changed

Hello,

your account of {{app}} was changed:

{{change}}

The change came from: {{origin}}

If this was not you, set a new password at once, and look at the sessions of your account.
`,
  },
  alert: {
    placeholders: ["state", "condition", "remedy", "since"],
    text: `Subject: {{app}}: {{state}}: {{condition}}

{{state}}: {{condition}}

Seen since {{since}}.

{{remedy}}
`,
  },
  taken: {
    placeholders: [],
    text: `Subject: You have an account already

Hello,

somebody tried to register at {{app}} with {{to}}. You have an account with this address already: sign in, or ask for a new password if you have forgotten yours.

If this was not you, ignore the mail: your account stays as it is.
`,
  },
};

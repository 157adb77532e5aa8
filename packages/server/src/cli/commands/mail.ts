/** `socle mail test`: hands a mail to the SMTP server of the configuration at once, and prints the answer of the server. */
import { printable, quote } from "../../base/kernel/index.ts";
import { normaliseEmail, sendTestMail } from "../../people/mail/index.ts";
import { type Command, UsageError } from "../command.ts";

export const mailTest: Command = {
  name: "mail test",
  args: ["ADDRESS"],
  summary: "Send a mail to an address, and print the answer of the SMTP server",
  async run({ args: [address = ""], terminal, load }) {
    const to = normaliseEmail(address);
    if (to === null) throw new UsageError(`${quote(address)} is no email address`);
    const { config } = await load();
    terminal.out(`The SMTP server has taken a mail to ${to}: ${printable(await sendTestMail(config, to))}\n`);
    return 0;
  },
};

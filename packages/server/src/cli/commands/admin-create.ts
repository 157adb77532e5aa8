/** `socle admin create`: makes a user an admin, or creates an admin, by the running service or without a service. */
import { buildService, doServiceWork } from "../../app/index.ts";
import { isCommonPassword } from "../../people/auth/index.ts";
import { type Command, needDatabase, textOption, UsageError } from "../command.ts";

export const adminCreate: Command = {
  name: "admin create",
  args: ["EMAIL"],
  summary: "Create an admin, or give the user with this email the role admin",
  options: { password: { value: "PASSWORD", summary: "without this option: a prompt, or standard input" } },
  async run({ args: [email = ""], options, terminal, load }) {
    const settings = await load();
    // A database made here would be a database without a service.
    needDatabase(settings);
    const { config, logger } = settings;
    const password = textOption(options, "password") ?? (await terminal.askSecret("Password: "));
    if (password === "") throw new UsageError("no password was given");
    const outcome = await doServiceWork({
      config,
      logger,
      request: { kind: "admin", email, password },
      open: buildService,
      async alone({ events, collections, auth }) {
        // A definition of `users` has a record made, with the event.
        events.start();
        await collections.start();
        await auth.users.normaliseEmails();
        return auth.makeAdmin({ email, password });
      },
    });
    if (await isCommonPassword(password))
      terminal.err("WARN  The password is one of the most common passwords: choose another password\n");
    terminal.out(
      outcome === "made"
        ? `Made the admin ${email} in ${config.database}\n`
        : `${email} is an admin now, with this password\n`,
    );
    return 0;
  },
};

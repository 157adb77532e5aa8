/** The form to sign in, or to register. */
import { useMutation } from "@socle/react";
import type { SubmitEvent } from "react";
import { socle } from "./socle";

/** Signs in or registers, by the button. */
function enter(form: FormData, isNew: boolean) {
  const credentials = { email: String(form.get("email")), password: String(form.get("password")) };
  return isNew ? socle.register(credentials) : socle.login(credentials);
}

export function SignIn() {
  const [run, { error, fields }] = useMutation(enter);
  // The messages by field; other refusals have one message.
  const problem = Object.values(fields).join("; ") || (error instanceof Error && error.message);

  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    const isNew = event.nativeEvent.submitter?.getAttribute("value") === "register";
    run(new FormData(event.currentTarget), isNew).catch(() => undefined);
  };

  return (
    <form onSubmit={submit}>
      <p>
        <label>
          Email <input name="email" type="email" autoComplete="email" required />
        </label>
      </p>
      <p>
        <label>
          Password <input name="password" type="password" autoComplete="current-password" required />
        </label>
      </p>
      <p>
        <button type="submit" value="sign-in">
          Sign in
        </button>{" "}
        <button type="submit" value="register">
          Register
        </button>
      </p>
      {problem && <p role="alert">{problem}</p>}
    </form>
  );
}

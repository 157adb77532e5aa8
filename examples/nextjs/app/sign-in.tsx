/** The form to sign in, or to register. */
"use client";

import { useActionState } from "react";
import { enter } from "./actions";

export function SignIn() {
  const [message, action] = useActionState(enter, null);
  return (
    <form action={action}>
      <p>
        <label>
          Email <input name="email" type="email" required />
        </label>
      </p>
      <p>
        <label>
          Password <input name="password" type="password" required />
        </label>
      </p>
      <p>
        <button type="submit" name="intent" value="sign-in">
          Sign in
        </button>{" "}
        <button type="submit" name="intent" value="register">
          Register
        </button>
      </p>
      {message && <p role="alert">{message}</p>}
    </form>
  );
}

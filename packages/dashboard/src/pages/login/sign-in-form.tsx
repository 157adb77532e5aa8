/** The sign-in of an admin: email and password, and the second factor of an admin with a second factor. */
import { SecondFactorRequired } from "@socle/client";
import { useState } from "react";
import { signIn } from "../../service/session.ts";
import { text } from "../../texts/first.ts";
import { CredentialsForm } from "./credentials-form.tsx";
import { SecondFactorForm } from "./second-factor-form.tsx";

export function SignInForm(props: {
  /** A fixed email. */
  email?: string;
  onDone?: () => Promise<unknown>;
}) {
  const { email, onDone = async () => undefined } = props;
  const [required, setRequired] = useState<SecondFactorRequired | null>(null);
  if (required !== null)
    return <SecondFactorForm required={required} onDone={onDone} onBack={() => setRequired(null)} />;
  return (
    <CredentialsForm
      submitLabel={text.login.submit}
      passwordKind="current-password"
      {...(email !== undefined && { email })}
      onSubmit={async (credentials) => {
        try {
          await signIn(credentials);
        } catch (thrown) {
          if (!(thrown instanceof SecondFactorRequired)) throw thrown;
          setRequired(thrown);
          return;
        }
        await onDone();
      }}
    />
  );
}

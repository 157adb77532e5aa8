/** The form of the second factor: a code of the app, a recovery code, or a passkey. */
import { Stack, Text, TextInput } from "@mantine/core";
import { type SecondFactorRequired, SocleError } from "@socle/client";
import { useMutation } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { Action } from "../../kit/action.tsx";
import { messageOf, Notice } from "../../kit/states.tsx";
import { finishSignIn, finishWithPasskey } from "../../service/session.ts";
import { text } from "../../texts/first.ts";

export function SecondFactorForm(props: {
  required: SecondFactorRequired;
  onDone: () => Promise<unknown>;
  /** Back to email and password. */
  onBack: () => void;
}) {
  const { required, onDone, onBack } = props;
  const { attempt, methods } = required;
  const [isRecovery, setIsRecovery] = useState(false);
  const [value, setValue] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const request = useMutation({
    mutationFn: async (finish: () => Promise<unknown>) => {
      await finish();
      await onDone();
    },
    onError: () => input.current?.select(),
  });
  const { error, isPending: isBusy } = request;
  // biome-ignore lint/correctness/useExhaustiveDependencies: each change of the kind is the reason.
  useEffect(() => input.current?.focus(), [isRecovery]);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const factor = isRecovery ? { recoveryCode: value } : { code: value };
    request.mutate(() => finishSignIn({ attempt, ...factor }));
  };
  const switchKind = (): void => {
    setIsRecovery(!isRecovery);
    setValue("");
    request.reset();
  };
  const isWrong = error instanceof SocleError && (error.status === 401 || error.details.length > 0);
  const wrong = isRecovery ? text.login.wrongRecoveryCode : text.login.wrongCode;
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <Text size="sm">{isRecovery ? text.login.recoveryHint : text.login.codeHint}</Text>
        {error !== null && !isWrong && <Notice tone="bad">{messageOf(error)}</Notice>}
        <TextInput
          label={isRecovery ? text.login.recoveryCode : text.login.code}
          // The keyboards of phones show digits, and offer the code of a message.
          inputMode={isRecovery ? "text" : "numeric"}
          autoComplete={isRecovery ? "off" : "one-time-code"}
          spellCheck={false}
          required
          withAsterisk={false}
          value={value}
          onChange={(event) => setValue(event.currentTarget.value)}
          error={isWrong ? wrong : undefined}
          ref={input}
          data-autofocus
        />
        <Action label={text.login.submit} type="submit" loading={isBusy} fullWidth size="sm" variant="filled" />
        {methods.includes("passkey") && (
          <Action
            label={text.login.usePasskey}
            fullWidth
            size="sm"
            onClick={() => request.mutate(() => finishWithPasskey(attempt))}
          />
        )}
        {methods.includes("recoveryCode") && (
          <Action label={isRecovery ? text.login.useCode : text.login.useRecoveryCode} isQuiet onClick={switchKind} />
        )}
        <Action label={text.login.back} isQuiet onClick={onBack} />
      </Stack>
    </form>
  );
}

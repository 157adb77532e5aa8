/** The set-up of an authenticator app: the secret as a QR code and as a text, and the code that turns the second factor on. */
import { Stack, Text, TextInput } from "@mantine/core";
import { SocleError } from "@socle/client";
import type { TotpSetup } from "@socle/protocol";
import { useMutation } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { CopyAction, Dim, Form, FormFoot, messageOf, Notice, notifyDone } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { afterRecentSignIn } from "../../service/recent.ts";
import { text } from "../../texts/index.ts";
import classes from "./account.module.css";
import { qrCodeOf } from "./qr-code.ts";

interface FactorSetupProps {
  setup: TotpSetup;
  /** Called with the recovery codes. */
  onDone: (codes: readonly string[]) => Promise<void>;
  onCancel: () => void;
}

export function FactorSetup({ setup: { secret, uri }, onDone, onCancel }: FactorSetupProps) {
  const [code, setCode] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const confirmation = useMutation({
    mutationFn: () => afterRecentSignIn(() => client.auth.totp.confirm(code.trim())),
    onSuccess: ({ recoveryCodes }) => {
      notifyDone(text.account.factorTurnedOn);
      return onDone(recoveryCodes);
    },
    onError: () => {
      input.current?.focus();
      input.current?.select();
    },
  });
  const { error } = confirmation;
  // A wrong code is a problem of the field, whatever the status of the answer.
  const isWrong = error instanceof SocleError && (error.status === 401 || error.fields["code"] !== undefined);
  return (
    <Form onSubmit={() => confirmation.isPending || confirmation.mutate()}>
      <Stack px="md" gap="sm">
        <Dim>{text.account.scan}</Dim>
        <div className={classes["setup"]}>
          <QrImage content={uri} />
          <Stack gap="sm">
            <div>
              <Text size="sm" fw={500}>
                {text.account.secret}
              </Text>
              <span className="inline">
                <span className="mono breaks">{secret.replace(/(.{4})(?=.)/g, "$1 ")}</span>
                <CopyAction value={secret} label={text.common.copyValue(text.account.secret)} />
              </span>
            </div>
            <TextInput
              label={text.account.code}
              description={text.account.codeHint}
              inputMode="numeric"
              autoComplete="one-time-code"
              spellCheck={false}
              required
              withAsterisk={false}
              autoFocus
              value={code}
              onChange={(event) => setCode(event.currentTarget.value)}
              error={isWrong ? text.account.wrongCode : undefined}
              ref={input}
            />
          </Stack>
        </div>
        {error !== null && !isWrong && <Notice tone="bad">{messageOf(error)}</Notice>}
        <FormFoot label={text.account.turnOn} isBusy={confirmation.isPending} onCancel={onCancel} />
      </Stack>
    </Form>
  );
}

/** The code with the quiet zone of four modules around; nothing for a text that no code holds: the secret stands beside. */
function QrImage({ content }: { content: string }) {
  const code = useMemo(() => qrCodeOf(content), [content]);
  if (code === null) return null;
  const size = code.length + 8;
  const path = code.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x + 4} ${y + 4}h1v1h-1z` : ""))).join("");
  return (
    <svg
      className={classes["qr"]}
      viewBox={`0 0 ${size} ${size}`}
      role="img"
      aria-label={text.account.qrCode}
      shapeRendering="crispEdges"
    >
      <path d={path} fill="currentColor" />
    </svg>
  );
}

/** The second factor of the admin's own account: the authenticator app, its set-up, and the recovery codes. */
import { Group, Stack, Text } from "@mantine/core";
import type { TotpSetup, User, UserFactors } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { IconRefresh, IconShieldCheck, IconShieldLock, IconShieldOff } from "../../icons/index.ts";
import {
  Action,
  confirmDanger,
  Dim,
  Mark,
  Notice,
  notifyDone,
  notifyFailure,
  Panel,
  QueryView,
  RowsSkeleton,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { afterRecentSignIn } from "../../service/recent.ts";
import { text } from "../../texts/index.ts";
import { FactorSetup } from "./factor-setup.tsx";
import { factorsQuery, refreshAccount } from "./queries.ts";
import { RecoveryCodes } from "./recovery-codes.tsx";

/** At this number of recovery codes, the page asks for new codes. */
const fewCodes = 2;

/** The part in place of the state of the factor. */
type Step =
  | { readonly kind: "none" }
  | { readonly kind: "setup"; readonly setup: TotpSetup }
  | { readonly kind: "codes"; readonly codes: readonly string[] };

export function FactorPanel({ user }: { user: User }) {
  const query = useQuery(factorsQuery(user.id));
  const [step, setStep] = useState<Step>({ kind: "none" });
  const close = (): void => setStep({ kind: "none" });
  const showCodes = async (codes: readonly string[]): Promise<void> => {
    setStep({ kind: "codes", codes });
    await refreshAccount();
  };
  const isOn = query.data?.totp;
  const mark =
    isOn === undefined ? undefined : isOn ? (
      <Mark tone="good" icon={IconShieldCheck}>
        {text.account.factorOn}
      </Mark>
    ) : (
      <Mark tone="quiet" icon={IconShieldOff}>
        {text.account.factorOff}
      </Mark>
    );
  return (
    <Panel title={text.account.factor} actions={mark} pb="md">
      {step.kind === "setup" && <FactorSetup setup={step.setup} onDone={showCodes} onCancel={close} />}
      {step.kind === "codes" && <RecoveryCodes codes={step.codes} onClose={close} />}
      {step.kind === "none" && (
        <QueryView query={query} skeleton={<RowsSkeleton rows={2} height={24} />}>
          {(factors) => (
            <FactorState factors={factors} onSetup={(setup) => setStep({ kind: "setup", setup })} onCodes={showCodes} />
          )}
        </QueryView>
      )}
    </Panel>
  );
}

interface FactorStateProps {
  factors: UserFactors;
  onSetup: (setup: TotpSetup) => void;
  onCodes: (codes: readonly string[]) => Promise<void>;
}

function FactorState({ factors: { totp, recoveryCodes }, onSetup, onCodes }: FactorStateProps) {
  const setUp = useMutation({
    mutationFn: () => afterRecentSignIn(() => client.auth.totp.create()),
    onSuccess: onSetup,
    onError: notifyFailure,
  });
  const begin = (
    <Action
      icon={IconShieldLock}
      label={totp ? text.account.setUpAnother : text.account.setUp}
      loading={setUp.isPending}
      onClick={() => setUp.mutate()}
      {...(!totp && { variant: "filled" })}
    />
  );
  if (!totp)
    return (
      <Stack px="md" gap="sm" align="flex-start">
        <Dim>{text.account.factorHint}</Dim>
        {begin}
      </Stack>
    );
  const askForCodes = (): void =>
    confirmDanger({
      title: text.account.newCodesTitle,
      body: text.account.newCodesBody,
      action: text.account.newCodesAction,
      onConfirm: async () => {
        const { recoveryCodes: codes } = await afterRecentSignIn(() => client.auth.totp.renewRecoveryCodes());
        await onCodes(codes);
      },
    });
  const turnOff = (): void =>
    confirmDanger({
      title: text.account.turnOffTitle,
      body: text.account.turnOffBody,
      action: text.account.turnOffAction,
      onConfirm: async () => {
        await afterRecentSignIn(() => client.auth.totp.delete());
        notifyDone(text.account.factorTurnedOff);
        await refreshAccount();
      },
    });
  return (
    <Stack px="md" gap="sm">
      <Text size="sm">
        {text.account.codesLeft(recoveryCodes)} <span className="quiet">{text.account.codesUse}</span>
      </Text>
      {recoveryCodes <= fewCodes && <Notice tone="warn">{text.account.fewCodes}</Notice>}
      <Group gap="xs">
        <Action icon={IconRefresh} label={text.account.newCodes} onClick={askForCodes} />
        {begin}
        <Action icon={IconShieldOff} label={text.account.turnOff} isDanger onClick={turnOff} />
      </Group>
    </Stack>
  );
}

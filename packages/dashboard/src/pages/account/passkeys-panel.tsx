/** The passkeys of the admin's own account: the list, a new passkey of this device, and the deletion. */
import { Stack, TextInput } from "@mantine/core";
import type { Passkey, User } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { IconFingerprint } from "../../icons/index.ts";
import {
  Action,
  Complaint,
  confirmDanger,
  Dim,
  Form,
  messageOf,
  notifyDone,
  Panel,
  QueryView,
  RowsSkeleton,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { afterRecentSignIn } from "../../service/recent.ts";
import { unlessGone } from "../../service/refusals.ts";
import { text } from "../../texts/index.ts";
import { Row } from "../users/row.tsx";
import { PasskeyNote } from "../users/user-factors.tsx";
import { factorsQuery, refreshAccount } from "./queries.ts";

const isSupported = "PublicKeyCredential" in globalThis;

export function PasskeysPanel({ user }: { user: User }) {
  const query = useQuery(factorsQuery(user.id));
  return (
    <Panel title={text.account.passkeys} pb="md">
      <Stack px="md" gap="sm">
        <Dim>{text.account.passkeysHint}</Dim>
        <QueryView query={query} skeleton={<RowsSkeleton rows={1} height={24} />}>
          {({ passkeys }) => <PasskeyList passkeys={passkeys} />}
        </QueryView>
        {isSupported ? <NewPasskey /> : <Dim>{text.account.noPasskeySupport}</Dim>}
      </Stack>
    </Panel>
  );
}

function PasskeyList({ passkeys }: { passkeys: readonly Passkey[] }) {
  if (passkeys.length === 0) return <Dim size="sm">{text.account.noPasskeys}</Dim>;
  return (
    <ul className="plain">
      {passkeys.map((passkey) => (
        <Row key={passkey.id} action={<DeletePasskey passkey={passkey} />}>
          {passkey.name}
          <PasskeyNote passkey={passkey} />
        </Row>
      ))}
    </ul>
  );
}

/** A passkey that is gone meanwhile counts as deleted. */
function DeletePasskey({ passkey: { id, name } }: { passkey: Passkey }) {
  const ask = (): void =>
    confirmDanger({
      title: text.account.deletePasskeyTitle(name),
      body: text.account.deletePasskeyBody,
      action: text.account.deletePasskeyAction,
      onConfirm: async () => {
        await unlessGone(afterRecentSignIn(() => client.auth.passkeys.delete(id)));
        notifyDone(text.account.passkeyDeleted(name));
        await refreshAccount();
      },
    });
  return (
    <Action
      label={text.account.deletePasskey}
      aria-label={text.account.deletePasskeyOf(name)}
      size="compact-xs"
      isQuiet
      onClick={ask}
    />
  );
}

/** The words for a refusal of the browser (WebAuthn, 5.1.3), or of the service. */
function refusalOf(error: Error): string {
  if (error.name === "NotAllowedError" || error.name === "AbortError") return text.account.passkeyCancelled;
  return error.name === "InvalidStateError" ? text.account.passkeyKnown : messageOf(error);
}

function NewPasskey() {
  const [name, setName] = useState("");
  const registration = useMutation({
    mutationFn: () => afterRecentSignIn(() => client.auth.passkeys.register(name.trim() || undefined)),
    onSuccess: async (passkey) => {
      setName("");
      notifyDone(text.account.passkeyAdded(passkey.name));
      await refreshAccount();
    },
  });
  return (
    <Form onSubmit={() => registration.isPending || registration.mutate()}>
      <Stack gap="xs" align="flex-start">
        <TextInput
          w="100%"
          label={text.account.passkeyName}
          description={text.account.passkeyNameHint}
          autoComplete="off"
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        {registration.error !== null && <Complaint>{refusalOf(registration.error)}</Complaint>}
        <Action icon={IconFingerprint} label={text.account.addPasskey} type="submit" loading={registration.isPending} />
      </Stack>
    </Form>
  );
}

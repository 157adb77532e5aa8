/** The second factors of a user: the authenticator app, the recovery codes that are left, the passkeys, and their removal. */
import type { UserFactors as Factors, Passkey, User } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import {
  Action,
  confirmDanger,
  DetailsSection,
  Dim,
  formatDay,
  nameOfUser,
  notifyDone,
  QueryView,
  RelativeTime,
  RowsSkeleton,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { afterRecentSignIn } from "../../service/recent.ts";
import { unlessGone } from "../../service/refusals.ts";
import { text } from "../../texts/index.ts";
import { refreshUsers, userFactorsQuery } from "./queries.ts";
import { Row } from "./row.tsx";

export function UserFactors({ user }: { user: User }) {
  const query = useQuery(userFactorsQuery(user.id));
  const count = query.data === undefined ? 0 : Number(query.data.totp) + query.data.passkeys.length;
  const removeAll = (): void =>
    confirmDanger({
      title: text.users.removeAllTitle(nameOfUser(user)),
      body: text.users.removeFactorBody,
      action: text.users.removeAllFactors,
      onConfirm: async () => {
        await afterRecentSignIn(() => client.admin.users.removeFactors(user.id));
        notifyDone(text.users.factorsRemoved);
        await refreshUsers();
      },
    });
  return (
    <DetailsSection
      title={text.users.factors}
      actions={
        count > 1 && (
          <Action
            label={text.users.removeAll}
            aria-label={text.users.removeAllFactors}
            size="compact-xs"
            onClick={removeAll}
          />
        )
      }
    >
      <QueryView query={query} skeleton={<RowsSkeleton rows={2} height={24} />}>
        {(factors) => <FactorList userId={user.id} factors={factors} />}
      </QueryView>
    </DetailsSection>
  );
}

function FactorList({ userId, factors: { totp, recoveryCodes, passkeys } }: { userId: string; factors: Factors }) {
  if (!totp && passkeys.length === 0) return <Dim size="sm">{text.users.noFactors}</Dim>;
  return (
    <ul className="plain">
      {totp && (
        <Row action={<RemoveFactor userId={userId} factor="totp" name={text.users.app} />}>
          {text.users.app}
          <span className="quiet"> · {text.users.recoveryCodes(recoveryCodes)}</span>
        </Row>
      )}
      {passkeys.map((passkey) => (
        <Row
          key={passkey.id}
          action={<RemoveFactor userId={userId} factor={passkey.id} name={text.users.passkey(passkey.name)} />}
        >
          {text.users.passkey(passkey.name)}
          <PasskeyNote passkey={passkey} />
        </Row>
      ))}
    </ul>
  );
}

/** When a passkey was made and last used. */
export function PasskeyNote({ passkey: { createdAt, lastUsedAt, isBackedUp } }: { passkey: Passkey }) {
  return (
    <span className="quiet">
      {" · "}
      {text.users.since} {formatDay(createdAt)}
      {isBackedUp && ` · ${text.users.backedUp}`}
      {" · "}
      {lastUsedAt === null ? (
        text.users.neverUsed
      ) : (
        <>
          {text.users.lastUsed} <RelativeTime at={lastUsedAt} />
        </>
      )}
    </span>
  );
}

/** A factor that is gone meanwhile counts as removed. */
function RemoveFactor({ userId, factor, name }: { userId: string; factor: string; name: string }) {
  const ask = (): void =>
    confirmDanger({
      title: text.users.removeFactorTitle(name),
      body: text.users.removeFactorBody,
      action: text.users.removeFactorAction,
      onConfirm: async () => {
        await unlessGone(afterRecentSignIn(() => client.admin.users.removeFactor(userId, factor)));
        notifyDone(text.users.factorRemoved(name));
        await refreshUsers();
      },
    });
  return (
    <Action label={text.users.remove} aria-label={text.users.removeOf(name)} size="compact-xs" isQuiet onClick={ask} />
  );
}

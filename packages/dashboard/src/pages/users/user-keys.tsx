/** The API keys of a user, and their deletion. */
import type { ApiKey, User } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { DetailsSection, Dim, formatDay, QueryView, RelativeTime, RowsSkeleton } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { text } from "../../texts/index.ts";
import { DeleteKey } from "../keys/delete-key.tsx";
import { refreshUsers, userKeysQuery } from "./queries.ts";
import { Row } from "./row.tsx";

export function UserKeys({ user }: { user: User }) {
  const query = useQuery(userKeysQuery(user.id));
  return (
    <DetailsSection title={text.users.keys(query.data?.length ?? 0)}>
      <QueryView query={query} skeleton={<RowsSkeleton rows={1} height={24} />}>
        {(keys) =>
          keys.length === 0 ? (
            <Dim size="sm">{text.users.noKeys}</Dim>
          ) : (
            <ul className="plain">
              {keys.map((key) => (
                <KeyRow key={key.id} userId={user.id} apiKey={key} />
              ))}
            </ul>
          )
        }
      </QueryView>
    </DetailsSection>
  );
}

function KeyRow({ userId, apiKey }: { userId: string; apiKey: ApiKey }) {
  const { id, name, scopes, expiresAt, lastUsedAt } = apiKey;
  return (
    <Row
      action={
        <DeleteKey apiKey={apiKey} send={() => client.admin.users.deleteKey(userId, id)} onDeleted={refreshUsers} />
      }
    >
      {name}
      <span className="quiet">
        {" · "}
        <span className="mono">{scopes.join(" ")}</span>
        {expiresAt !== null && ` · ${text.users.keyEnds} ${formatDay(expiresAt)}`}
        {" · "}
        {lastUsedAt === null ? (
          text.users.neverUsed
        ) : (
          <>
            {text.users.lastUsed} <RelativeTime at={lastUsedAt} />
          </>
        )}
      </span>
    </Row>
  );
}

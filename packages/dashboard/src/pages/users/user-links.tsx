/** The accounts at providers by which a user signs in, and their removal. */
import type { Link, User } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import {
  Action,
  confirmDanger,
  DetailsSection,
  Dim,
  formatDay,
  notifyDone,
  QueryView,
  RowsSkeleton,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { unlessGone } from "../../service/refusals.ts";
import { text } from "../../texts/index.ts";
import { refreshUsers, userLinksQuery } from "./queries.ts";
import { Row } from "./row.tsx";

export function UserLinks({ user }: { user: User }) {
  const query = useQuery(userLinksQuery(user.id));
  return (
    <DetailsSection title={text.users.links}>
      <QueryView query={query} skeleton={<RowsSkeleton rows={1} height={24} />}>
        {(links) =>
          links.length === 0 ? (
            <Dim size="sm">{text.users.noLinks}</Dim>
          ) : (
            <ul className="plain">
              {links.map((link) => (
                <LinkRow key={link.name} userId={user.id} link={link} />
              ))}
            </ul>
          )
        }
      </QueryView>
    </DetailsSection>
  );
}

function LinkRow({ userId, link: { name, email, createdAt } }: { userId: string; link: Link }) {
  const ask = (): void =>
    confirmDanger({
      title: text.users.removeLinkTitle(name),
      body: text.users.removeLinkBody,
      action: text.users.removeLinkAction,
      onConfirm: async () => {
        await unlessGone(client.admin.users.removeLink(userId, name));
        notifyDone(text.users.linkRemoved(name));
        await refreshUsers();
      },
    });
  return (
    <Row
      action={
        <Action
          label={text.users.remove}
          aria-label={text.users.removeOf(name)}
          size="compact-xs"
          isQuiet
          onClick={ask}
        />
      }
    >
      {name}
      <span className="quiet">
        {email !== null && ` · ${email}`}
        {" · "}
        {text.users.since} {formatDay(createdAt)}
      </span>
    </Row>
  );
}

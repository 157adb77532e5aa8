/** The newest mails of the outbox to a user, each with a way to the mail. */
import { useQuery } from "@tanstack/react-query";
import { DetailsSection, Dim, LinkAction, QueryView, RelativeTime, RowsSkeleton, TextLink } from "../../kit/index.ts";
import { text } from "../../texts/index.ts";
import { MailMark } from "../mails/mail-mark.tsx";
import { mailsToQuery } from "../mails/queries.ts";
import { Row } from "./row.tsx";

export function UserMails({ email }: { email: string }) {
  const query = useQuery(mailsToQuery(email));
  const total = query.data?.total ?? 0;
  return (
    <DetailsSection
      title={text.users.mails(total)}
      actions={
        total > 0 && <LinkAction label={text.users.allMails} size="compact-xs" to="/mails" search={{ search: email }} />
      }
    >
      <QueryView query={query} skeleton={<RowsSkeleton rows={2} height={24} />}>
        {({ items }) =>
          items.length === 0 ? (
            <Dim size="sm">{text.users.noMails}</Dim>
          ) : (
            <ul className="plain">
              {items.map(({ id, subject, status, createdAt }) => (
                <Row key={id} action={<MailMark status={status} />}>
                  <TextLink to="/mails" search={{ mail: id }}>
                    {subject || text.mails.noSubject}
                  </TextLink>
                  <span className="quiet">
                    {" · "}
                    <RelativeTime at={createdAt} />
                  </span>
                </Row>
              ))}
            </ul>
          )
        }
      </QueryView>
    </DetailsSection>
  );
}

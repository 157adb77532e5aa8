/** Drawer of a mail: recipient, status, attempts, the text and the HTML; and another attempt. */
import { Anchor, Group, SegmentedControl, Stack } from "@mantine/core";
import type { MailDetail, MailEntry } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { IconSend, IconTimeline, IconUserSearch } from "../../icons/index.ts";
import {
  Action,
  CodeBlock,
  CodeText,
  DetailsSection,
  Dim,
  Fact,
  Facts,
  formatNumber,
  LinkAction,
  notifyDone,
  notifyFailure,
  QueryView,
  WholeTime,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { mailSettingsQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { MailHtml } from "./mail-html.tsx";
import { MailMark } from "./mail-mark.tsx";
import { mailQuery, refreshMails } from "./queries.ts";
import { partsOf } from "./text-links.ts";

/** @param props.entry the mail in the list, which is newer than the mail that was read; undefined on another page of the list. */
export function MailDetails({ id, entry }: { id: string; entry: MailEntry | undefined }) {
  const query = useQuery(mailQuery(id));
  return (
    <QueryView query={query}>
      {(mail) => (
        <>
          <About mail={{ ...mail, ...entry }} />
          <Content key={id} mail={mail} />
        </>
      )}
    </QueryView>
  );
}

function About({ mail }: { mail: MailEntry & Pick<MailDetail, "messageId"> }) {
  const { to, subject, kind, status, createdAt, attempts, dueAt, endedAt, error, messageId } = mail;
  return (
    <DetailsSection title={text.mails.about}>
      <Facts>
        <Fact name={text.mails.to} value={to} copy={text.mails.copyTo} />
        <Fact name={text.mails.subject} value={subject || text.mails.noSubject} />
        <Fact name={text.mails.status} value={<MailMark status={status} />} />
        <Fact name={text.mails.kind} value={kind} isMono />
        <Fact name={text.mails.createdAt} value={<WholeTime at={createdAt} />} />
        <Fact name={text.mails.endedAt[status]} value={endedAt && <WholeTime at={endedAt} />} />
        <Fact name={text.mails.attempts} value={formatNumber(attempts)} />
        <Fact name={text.mails.dueAt} value={dueAt && <WholeTime at={dueAt} />} />
        <Fact name={text.mails.error} value={error} />
        <Fact name={text.mails.messageId} value={messageId} isMono copy={text.mails.copyMessageId} />
      </Facts>
      <Group gap="xs" mt="sm">
        <LinkAction icon={IconTimeline} label={text.trace.open} to="/trace/$id" params={{ id: mail.id }} />
        <LinkAction icon={IconUserSearch} label={text.mails.findUser} to="/users" search={{ search: to }} />
        {(status === "failed" || status === "kept") && <SendAgain mail={mail} />}
      </Group>
    </DetailsSection>
  );
}

/** Only a service with an SMTP server sends a mail again. */
function SendAgain({ mail: { id, to } }: { mail: MailEntry }) {
  const { data: settings } = useQuery(mailSettingsQuery);
  const retry = useMutation({
    mutationFn: () => client.admin.mails.retry(id),
    onSuccess: () => notifyDone(text.mails.waits(to)),
    onError: notifyFailure,
    onSettled: refreshMails,
  });
  if (settings === undefined) return null;
  if (settings.server === null)
    return (
      <Dim>
        <CodeText text={text.mails.keptNote} />
      </Dim>
    );
  return (
    <Action
      icon={IconSend}
      label={text.mails.sendAgain}
      title={text.mails.sendAgainNote}
      loading={retry.isPending}
      onClick={() => retry.mutate()}
    />
  );
}

const forms = ["text", "html"] as const;

function Content({ mail: { subject, text: plain, html, kind } }: { mail: MailDetail }) {
  const [form, setForm] = useState<(typeof forms)[number]>("text");
  const { data: settings } = useQuery(mailSettingsQuery);
  const isRemoved = kind !== "custom" && settings !== undefined && settings.server !== null;
  return (
    <DetailsSection
      title={text.mails.content}
      actions={
        html !== null && (
          <SegmentedControl
            size="xs"
            aria-label={text.mails.form}
            data={forms.map((value) => ({ value, label: text.mails[value] }))}
            value={form}
            onChange={setForm}
          />
        )
      }
    >
      <Stack gap="xs">
        {form === "html" && html !== null ? (
          <div>
            <MailHtml html={html} subject={subject} />
          </div>
        ) : (
          <CodeBlock value={plain} label={text.mails.text} render={(shown) => <LinkedText value={shown} />} />
        )}
        {isRemoved && <Dim>{text.mails.removedNote}</Dim>}
      </Stack>
    </DetailsSection>
  );
}

/** A text whose links open a window of their own, which learns nothing about this page. */
function LinkedText({ value }: { value: string }) {
  return partsOf(value).map(({ at, value: part, isLink }) =>
    isLink ? (
      <Anchor key={at} href={part} target="_blank" rel="noopener noreferrer" inherit underline="always">
        {part}
      </Anchor>
    ) : (
      part
    ),
  );
}

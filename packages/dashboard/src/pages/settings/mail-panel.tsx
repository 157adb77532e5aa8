/** The sending of mails: the sender, the server without its password, the address in links; and a test mail. */
import { Box, Group, Stack, Text, TextInput } from "@mantine/core";
import type { MailSettings } from "@socle/protocol";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { IconCircleCheck, IconCircleX, IconInbox } from "../../icons/index.ts";
import {
  Action,
  CodeText,
  Complaint,
  Fact,
  Facts,
  Form,
  formatNumber,
  LinkAction,
  Mark,
  messageOf,
  Panel,
  QueryView,
  RowsSkeleton,
  Warning,
} from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { mailSettingsQuery } from "../../service/queries.ts";
import { useSession } from "../../service/session.ts";
import { text } from "../../texts/index.ts";

const words = text.mailSettings;

export function MailPanel() {
  const query = useQuery({ ...mailSettingsQuery, staleTime: 0 });
  return (
    <Panel
      title={words.title}
      actions={<LinkAction icon={IconInbox} label={words.outbox} size="compact-xs" to="/mails" />}
    >
      <QueryView query={query} skeleton={<RowsSkeleton rows={5} height={24} />}>
        {(settings) => (
          <Box px="md" pb="md">
            <MailFacts settings={settings} />
            {settings.server !== null && <MailTest />}
          </Box>
        )}
      </QueryView>
    </Panel>
  );
}

/** A value, or the effect of a missing value. */
function Value({ value, missing }: { value: string | null; missing: string }) {
  if (value !== null) return <span className="breaks">{value}</span>;
  return (
    <Warning>
      <CodeText text={missing} />
    </Warning>
  );
}

function MailFacts({ settings }: { settings: MailSettings }) {
  const { from, server, publicUrl, waiting, sent, failed } = settings;
  return (
    <Facts>
      <Fact name={words.from} value={<Value value={from} missing={words.noFrom} />} />
      <Fact name={words.server} value={<Value value={server} missing={words.noServer} />} />
      <Fact name={words.publicUrl} value={<Value value={publicUrl} missing={words.noPublicUrl} />} />
      <Fact name={words.waiting} value={formatNumber(waiting)} />
      <Fact name={words.since} value={words.totals(sent, failed)} />
    </Facts>
  );
}

function MailTest() {
  const session = useSession();
  const [to, setTo] = useState(session.phase === "out" ? "" : (session.user.email ?? ""));
  const test = useMutation({ mutationFn: () => client.admin.mails.test(to) });
  return (
    <Form onSubmit={() => test.isPending || test.mutate()}>
      <Stack gap="xs" mt="sm">
        <Group gap="xs" align="end">
          <TextInput
            size="xs"
            flex="1 1 200px"
            label={words.testTo}
            type="email"
            autoComplete="email"
            required
            withAsterisk={false}
            value={to}
            onChange={(event) => setTo(event.currentTarget.value)}
          />
          <Action label={words.test} type="submit" loading={test.isPending} />
        </Group>
        {test.isError && <Complaint>{messageOf(test.error)}</Complaint>}
        {test.isSuccess && <Outcome {...test.data} />}
      </Stack>
    </Form>
  );
}

function Outcome({ isTaken, answer }: { isTaken: boolean; answer: string }) {
  return (
    <Text size="sm" component="div" role="status" className="breaks">
      <Mark tone={isTaken ? "good" : "bad"} icon={isTaken ? IconCircleCheck : IconCircleX}>
        {isTaken ? words.taken(answer) : words.refused(answer)}
      </Mark>
    </Text>
  );
}

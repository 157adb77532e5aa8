/** The dialog with the page's list or record as code: curl, the TypeScript client, fetch. */
import { Badge, Group, Modal, Stack, Tabs, Title } from "@mantine/core";
import type { CollectionEntry } from "@socle/protocol";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { CodeBlock, Dim } from "../../../kit/index.ts";
import { client } from "../../../service/client.ts";
import { text } from "../../../texts/index.ts";
import { exampleRecord } from "./example.ts";
import { LANGUAGES, type Language, REQUESTS, type RequestKind, ruleOf, snippet, type Target } from "./requests.ts";

export interface SnippetsDialogProps {
  collection: CollectionEntry;
  filter?: string | undefined;
  search?: string | undefined;
  sort?: string | undefined;
  /** The open record, if any. */
  recordId?: string | undefined;
  onClose: () => void;
}

/** Most relations with a lookup of a record for the examples. */
const maxLookups = 5;

async function exampleIds(collection: CollectionEntry): Promise<ReadonlyMap<string, string>> {
  const targets = collection.fields.filter(({ type }) => type === "relation").slice(0, maxLookups);
  const found = await Promise.all(
    [{ name: "id", collection: collection.name }, ...targets].map(async ({ name, collection: target }) => {
      if (target === undefined) return [name, null] as const;
      const first =
        target === "users"
          ? (await client.admin.users.list({ limit: 1 })).items[0]
          : (await client.collection(target).page<{ id: string }>({ limit: 1, fields: "id" })).items[0];
      return [name, first?.id ?? null] as const;
    }),
  );
  return new Map(found.flatMap(([name, id]) => (id === null ? [] : [[name, id] as const])));
}

export function SnippetsDialog({ collection, filter, search, sort, recordId, onClose }: SnippetsDialogProps) {
  const [language, setLanguage] = useState<Language>("curl");
  // Without an answer the examples have placeholders, so that the user does not wait.
  const ids = useQuery({ queryKey: ["snippet ids", collection.name], queryFn: () => exampleIds(collection) });
  const known = ids.data ?? new Map<string, string>();
  const values = exampleRecord(collection.fields, known);
  const id = recordId ?? known.get("id");
  const target: Target = {
    baseUrl: window.location.origin,
    collection: collection.name,
    permissions: collection.permissions,
    ...{ filter, search, sort, values },
    ...(id !== undefined && { recordId: id }),
    // An update changes a single field.
    change: Object.fromEntries(Object.entries(values).slice(0, 1)),
  };
  return (
    <Modal opened onClose={onClose} size="xl" title={text.snippets.title(collection.name)}>
      <Tabs value={language} onChange={(value) => setLanguage(LANGUAGES.find((each) => each === value) ?? "curl")}>
        <Tabs.List>
          {LANGUAGES.map((value) => (
            <Tabs.Tab key={value} value={value}>
              {text.snippets.tabs[value]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        {LANGUAGES.map((value) => (
          <Tabs.Panel key={value} value={value} pt="md" keepMounted={false}>
            <Stack gap="md">
              {value !== "client" && <Dim>{text.snippets.tokenNote}</Dim>}
              {REQUESTS.map((kind) => (
                <Snippet
                  key={kind}
                  kind={kind}
                  code={snippet(kind, value, target)}
                  hint={hintOf(kind, collection.permissions)}
                />
              ))}
            </Stack>
          </Tabs.Panel>
        ))}
      </Tabs>
    </Modal>
  );
}

function hintOf(kind: RequestKind, permissions: CollectionEntry["permissions"]): string {
  const { hints } = text.snippets;
  const rule: string = ruleOf(kind, permissions);
  if (rule === "owner") {
    if (kind === "create") return hints.authenticated;
    return kind === "list" || kind === "subscribe" ? hints.ownLists : hints.owner;
  }
  if (rule === "public" || rule === "authenticated" || rule === "admin") return hints[rule];
  return hints.other(rule);
}

function Snippet({ kind, code, hint }: { kind: RequestKind; code: string; hint: string }) {
  const title = text.snippets.requests[kind];
  return (
    <div>
      <Group gap="xs" mb={4}>
        <Title order={3} size="h6">
          {title}
        </Title>
        <Badge size="sm" variant="default" radius="sm" tt="none" fw={500} className="quiet">
          {hint}
        </Badge>
      </Group>
      <CodeBlock value={code} label={text.snippets.code(title)} isUnbroken />
    </div>
  );
}

/** The editor of a live setting: the value as in the file, in force at once and kept for the next starts. */
import { Group, TextInput } from "@mantine/core";
import type { ConfigEntry, JsonValue } from "@socle/protocol";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { Action, Dim, messageOf, notifyDone } from "../../kit/index.ts";
import { client } from "../../service/client.ts";
import { configQuery } from "../../service/queries.ts";
import { afterRecentSignIn } from "../../service/recent.ts";
import { text } from "../../texts/index.ts";
import { written } from "./config-text.ts";

const words = text.settings;

export function SettingEditor({ entry }: { entry: ConfigEntry }) {
  const { key, source } = entry;
  const [draft, setDraft] = useState<string | null>(null);
  const queryClient = useQueryClient();
  const change = useMutation({
    mutationFn: (value: JsonValue) => afterRecentSignIn(() => client.admin.setSetting(key, value)),
    async onSuccess() {
      setDraft(null);
      notifyDone(words.changed(key));
      await queryClient.invalidateQueries({ queryKey: configQuery.queryKey });
    },
  });
  if (source !== "default" && source !== "settings") return <Dim>{words.configured(words.sources[source])}</Dim>;
  const open = (): void => {
    change.reset();
    setDraft(String(written(entry) ?? ""));
  };
  if (draft === null)
    return (
      <Group gap={8} mt={4}>
        <Action label={words.change} aria-label={words.changeOf(key)} onClick={open} />
        {source === "settings" && (
          <Action
            isQuiet
            label={words.toDefault}
            aria-label={words.toDefaultOf(key)}
            loading={change.isPending}
            onClick={() => change.mutate(null)}
          />
        )}
      </Group>
    );
  const save = (event: FormEvent): void => {
    event.preventDefault();
    change.mutate(draft);
  };
  return (
    <form onSubmit={save}>
      <TextInput
        size="xs"
        mt={4}
        aria-label={words.valueOf(key)}
        value={draft}
        error={change.isError && messageOf(change.error)}
        data-autofocus
        autoFocus
        onChange={(event) => setDraft(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "Escape" && setDraft(null)}
      />
      <Group gap={8} mt={6}>
        <Action type="submit" label={text.common.save} loading={change.isPending} />
        <Action isQuiet label={text.common.cancel} onClick={() => setDraft(null)} />
      </Group>
    </form>
  );
}

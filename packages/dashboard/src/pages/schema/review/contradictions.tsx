/** The contradictions of a refused change, with links to the records with the contradictions. */
import { Group, Stack, Text } from "@mantine/core";
import { Dim, Notice, TextLink } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import { type Contradiction, filterOf } from "./refusal.ts";

const words = text.schema.plan;

export function Contradictions({ collection, list }: { collection: string; list: readonly Contradiction[] }) {
  const isOfRecords = list.some(({ ids }) => ids.length > 0);
  return (
    <Notice tone="bad" title={isOfRecords ? words.refusedTitle : words.invalidTitle}>
      <Stack gap="sm">
        {list.map(({ field, message, ids, hasMore }) => (
          <div key={`${field} ${message}`}>
            <Text size="sm">
              {field !== null && (
                <Text span fw={600} inherit>
                  <span className="mono">{field}</span>{" "}
                </Text>
              )}
              {message}
            </Text>
            {ids.length > 0 && (
              <Group gap="sm" mt={2}>
                {/* In a tab of its own: the draft stays. */}
                <TextLink
                  to="/collections/$name"
                  params={{ name: collection }}
                  search={{ filter: filterOf(ids) }}
                  target="_blank"
                  size="xs"
                  underline="always"
                >
                  {words.showRecords(ids.length, hasMore)}
                </TextLink>
                {ids.map((id) => (
                  <TextLink
                    to="/collections/$name"
                    params={{ name: collection }}
                    search={{ record: id }}
                    target="_blank"
                    key={id}
                    size="xs"
                    className="mono"
                    aria-label={words.showRecord(id.slice(-8))}
                  >
                    {id.slice(-8)}
                  </TextLink>
                ))}
              </Group>
            )}
          </div>
        ))}
        {isOfRecords && <Dim>{words.refusedBody}</Dim>}
      </Stack>
    </Notice>
  );
}

/** The bar of a read-only service, above every page: the cause, and the end of the mode that an admin has begun. */
import { Group, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { IconLock } from "../icons/index.ts";
import { Action, notifyDone, notifyError, RelativeTime } from "../kit/index.ts";
import { client } from "../service/client.ts";
import { queryClient, readOnlyQuery } from "../service/queries.ts";
import { text } from "../texts/index.ts";
import classes from "./read-only-bar.module.css";

export function ReadOnlyBar() {
  const { data: mode } = useQuery(readOnlyQuery);
  const end = useMutation({
    mutationFn: () => client.admin.setReadOnly(false),
    onSuccess: async () => {
      await queryClient.invalidateQueries({ queryKey: readOnlyQuery.queryKey });
      notifyDone(text.readOnly.ended);
    },
    onError: (error) => notifyError(text.readOnly.notEnded, error),
  });
  if (mode?.on !== true || mode.since === null) return null;
  return (
    <Group component="section" className={classes["bar"] ?? ""} gap="sm" aria-label={text.readOnly.title}>
      <IconLock size={16} aria-hidden />
      <Text size="sm" role="status" flex={1} miw={200}>
        <b>{text.readOnly.title}</b>: {mode.text} (<RelativeTime at={mode.since} />)
      </Text>
      {mode.cause === "admin" && (
        <Action label={text.readOnly.end} loading={end.isPending} onClick={() => end.mutate()} />
      )}
    </Group>
  );
}

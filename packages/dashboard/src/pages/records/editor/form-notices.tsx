/** The notices above the fields of a record: a restored draft, changes by others, the errors of a failed save. */
import { Alert, Box, Group, List, Text } from "@mantine/core";
import { IconAlertTriangle, IconHistory, IconTrash, IconUsers } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { Action, RelativeTime, TextLink } from "../../../kit/index.ts";
import { text } from "../../../texts/index.ts";
import classes from "./editor.module.css";
import type { RecordForm, SaveErrors } from "./use-record-form.ts";

export function FormNotices({ form, isDeleted }: { form: RecordForm; isDeleted: boolean }) {
  const { failure, clashing, draft } = form;
  return (
    <>
      {draft.restoredAt !== null && (
        <Notice
          icon={<IconHistory size={18} />}
          title={
            <>
              {text.editor.restored} <RelativeTime at={draft.restoredAt} />
            </>
          }
          actions={[[text.schema.discard, form.discard]]}
        />
      )}
      {isDeleted && (
        <Notice isWarning icon={<IconTrash size={18} />} title={text.editor.goneElsewhere}>
          {text.editor.goneElsewhereBody}
        </Notice>
      )}
      {!isDeleted && clashing.length > 0 && (
        <Notice
          isWarning
          icon={<IconUsers size={18} />}
          title={text.editor.conflictTitle}
          actions={[
            [text.editor.takeTheirs, form.takeTheirs],
            [text.editor.keepMine, form.keepMine],
          ]}
        >
          {text.editor.conflictBody(clashing.map(({ name }) => name).join(", "))}
        </Notice>
      )}
      {draft.isTooLarge && (
        <Notice isWarning icon={<IconAlertTriangle size={18} />} title={text.editor.draftTooLarge} />
      )}
      {failure !== null && failure.errors.general.length > 0 && <GeneralErrors errors={failure.errors} />}
    </>
  );
}

/** The errors without a field. */
function GeneralErrors({ errors: { general, requestId } }: { errors: SaveErrors }) {
  return (
    <Alert
      data-general
      tabIndex={-1}
      color="red"
      variant="light"
      role="alert"
      p="sm"
      icon={<IconAlertTriangle aria-hidden />}
      title={text.editor.notSaved}
    >
      <List size="sm" listStyleType="none">
        {general.map((message) => (
          <List.Item key={message}>{message}</List.Item>
        ))}
      </List>
      {requestId !== null && (
        <TextLink to="/logs" search={{ search: requestId }} underline="always">
          {text.errors.inLog}
        </TextLink>
      )}
    </Alert>
  );
}

interface NoticeProps {
  icon: ReactNode;
  title: ReactNode;
  /** Whether the notice may appear while the user types further down: the notice then stays in view. */
  isWarning?: boolean;
  actions?: readonly (readonly [label: string, action: () => void])[];
  children?: ReactNode;
}

function Notice({ icon, title, isWarning = false, actions = [], children }: NoticeProps) {
  return (
    <Alert
      color={isWarning ? "orange" : "verdigris"}
      variant="outline"
      className={classes["notice"] ?? ""}
      data-live={isWarning || undefined}
      p="sm"
      role="status"
      icon={icon}
      styles={{ message: { margin: 0 } }}
    >
      <Group justify="space-between" gap="xs">
        <Box flex="1 1 200px" miw={0}>
          <Text size="sm" fw={550} component="div">
            {title}
          </Text>
          {children !== undefined && <Text size="sm">{children}</Text>}
        </Box>
        <Group gap="xs">
          {actions.map(([label, action]) => (
            <Action key={label} label={label} size="compact-sm" onClick={action} />
          ))}
        </Group>
      </Group>
    </Alert>
  );
}

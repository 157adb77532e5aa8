/** A field for a new password that can be generated, shown and copied. */
import { Group, PasswordInput, Stack } from "@mantine/core";
import { IconSparkles } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Action, CopyAction } from "../../kit/index.ts";
import { configQuery } from "../../service/queries.ts";
import { text } from "../../texts/index.ts";
import { generatePassword } from "./password.ts";

interface NewPasswordProps {
  label?: string;
  /** A hint beside the length. */
  hint?: string;
  autoFocus?: boolean;
  value: string;
  onChange: (value: string) => void;
  error: string | undefined;
}

export function NewPassword(props: NewPasswordProps) {
  const { label = text.users.password, hint, autoFocus = false, value, onChange, error } = props;
  const { data: config } = useQuery(configQuery);
  const least = config?.keys.find(({ key }) => key === "auth.passwordMinLength")?.value;
  const minLength = typeof least === "number" ? least : null;
  const [isVisible, setVisible] = useState(false);
  return (
    <Stack gap={8}>
      <PasswordInput
        label={label}
        description={[minLength === null ? "" : text.users.passwordHint(minLength), hint ?? ""].join(" ").trim()}
        autoFocus={autoFocus}
        autoComplete="new-password"
        required
        withAsterisk={false}
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
        visible={isVisible}
        onVisibilityChange={setVisible}
        visibilityToggleButtonProps={{ "aria-label": text.users.showPassword, tabIndex: 0 }}
        error={error}
      />
      <Group gap="xs">
        <Action
          icon={IconSparkles}
          label={text.users.generate}
          onClick={() => {
            onChange(generatePassword());
            setVisible(true);
          }}
        />
        {value !== "" && <CopyAction value={value} label={text.users.copyPassword} />}
      </Group>
    </Stack>
  );
}

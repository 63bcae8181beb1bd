import { Alert, Button, Card, PasswordInput, Stack, Text, Title } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState, type FormEvent } from "react";
import { api, ask } from "~/api/client";
import { tellDone } from "~/api/queries";
import { When } from "~/blocks/When";
import { useMe } from "~/shell/me";

const SHORTEST = 12;
const LONGEST = 200;

/** Sets or changes one's own password. Without one, a login link of an admin's is the way in. */
export function Password() {
  const me = useMe();
  const has = me.passwordChangedAt !== null;
  const [current, setCurrent] = useState("");
  const [next, setNext] = useState("");
  const [again, setAgain] = useState("");
  const [wrong, setWrong] = useState<string | null>(null);
  const change = useMutation({
    mutationFn: () => ask(api.PUT("/api/me/password", { body: { current: has ? current : null, new: next } })),
    meta: { ownProblem: true, touches: [["me"], ["sessions"]] },
    onSuccess: () => {
      setCurrent("");
      setNext("");
      setAgain("");
      setWrong(null);
      tellDone("The password is set. Other sessions have ended.");
    },
    onError: (error) => setWrong(error.message),
  });

  function submit(event: FormEvent): void {
    event.preventDefault();
    if (next.length < SHORTEST) setWrong(`Use ${SHORTEST} characters or more; a few words in a row are easy to remember.`);
    else if (next !== again) setWrong("The two are not the same.");
    else change.mutate();
  }

  return (
    <Card withBorder component="section" aria-labelledby="password">
      <Title order={2} size="h3" id="password" mb="xs">
        Password
      </Title>
      <form onSubmit={submit}>
        <Stack gap="sm">
          <Text size="sm" c="dimmed" component="div">
            {has ? (
              <>
                Changed <When at={me.passwordChangedAt} />. Changing it ends your other sessions; tokens stay valid.
              </>
            ) : (
              "You have none: a login link lets you in. With one you get in by yourself."
            )}
          </Text>
          {/* Password managers want to know whose it is. */}
          <input type="text" name="username" value={me.name} autoComplete="username" readOnly hidden />
          {has && (
            <PasswordInput label="Current password" autoComplete="current-password" maxLength={LONGEST} value={current} onChange={(event) => setCurrent(event.currentTarget.value)} required />
          )}
          <PasswordInput
            label="New password"
            description={`${SHORTEST} characters or more. A few words in a row will do.`}
            autoComplete="new-password"
            maxLength={LONGEST}
            value={next}
            onChange={(event) => setNext(event.currentTarget.value)}
            required
          />
          <PasswordInput label="Once more" autoComplete="new-password" maxLength={LONGEST} value={again} onChange={(event) => setAgain(event.currentTarget.value)} required />
          {wrong && (
            <Alert color="red" role="alert">
              {wrong}
            </Alert>
          )}
          <Button type="submit" loading={change.isPending} style={{ alignSelf: "flex-start" }}>
            {has ? "Change password" : "Set password"}
          </Button>
        </Stack>
      </form>
    </Card>
  );
}

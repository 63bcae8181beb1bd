import { Alert, Checkbox, Fieldset, NumberInput, SimpleGrid, Stack, Switch, Text, TextInput } from "@mantine/core";
import type { Schemas } from "~/api/client";
import { count, many } from "~/blocks/wording";
import { cost, estimate } from "./estimate";

type Models = Schemas["ModelList"];
export type Wanted = {
  name: string;
  models: string[];
  pages: number;
  samples: number;
  prompts: number;
  budget: number;
  review: boolean;
};

type Props = { models: Models; wanted: Wanted; onChange: (wanted: Wanted) => void; sites: number | null };

/** What is done with every site, and what that may cost. */
export function AddOptions({ models, wanted, onChange, sites }: Props) {
  const { usual } = models;
  const set = (part: Partial<Wanted>) => onChange({ ...wanted, ...part });
  const whole = (name: "pages" | "samples" | "prompts", label: string, description: string, most: number) => (
    <NumberInput
      label={label}
      description={description}
      min={1}
      max={most}
      allowDecimal={false}
      inputWrapperOrder={["label", "input", "description"]}
      value={wanted[name]}
      onChange={(value) => set({ [name]: typeof value === "number" ? value : usual[name] })}
    />
  );
  return (
    <Stack>
      <TextInput
        label="Name"
        description="Left empty, it is the address or the number of sites."
        maxLength={200}
        value={wanted.name}
        onChange={(event) => set({ name: event.currentTarget.value })}
      />
      <Fieldset legend="Models to ask">
        <Checkbox.Group value={wanted.models} onChange={(chosen) => set({ models: chosen })} aria-label="Models to ask">
          <Stack gap="xs">
            {models.items.map((model) => (
              <Checkbox
                key={model.name}
                value={model.name}
                disabled={!model.ready}
                label={<span className="stored">{model.name}</span>}
                description={<span className="stored">{aboutModel(model)}</span>}
              />
            ))}
          </Stack>
        </Checkbox.Group>
      </Fieldset>
      <SimpleGrid cols={{ base: 1, xs: 2, sm: 4 }}>
        {whole("pages", "Pages", `Read beside the start page, up to ${count(usual.mostPages)}`, usual.mostPages)}
        {whole("prompts", "Prompts", `Formed per site, up to ${count(usual.mostPrompts)}`, usual.mostPrompts)}
        {whole("samples", "Answers", `Per prompt and model, up to ${count(usual.mostSamples)}`, usual.mostSamples)}
        <NumberInput
          label="Budget"
          description="The most that models may cost, for all sites"
          min={0}
          max={1_000_000}
          decimalScale={6}
          inputWrapperOrder={["label", "input", "description"]}
          value={wanted.budget}
          onChange={(value) => set({ budget: typeof value === "number" ? value : usual.budget })}
        />
      </SimpleGrid>
      <Switch
        label="Approval first"
        description="No model is asked before somebody has read the prompts."
        checked={wanted.review}
        onChange={(event) => set({ review: event.currentTarget.checked })}
      />
      <Cost models={models} wanted={wanted} sites={sites} />
    </Stack>
  );
}

function aboutModel(model: Models["items"][number]): string {
  if (!model.ready) return model.problem ?? "It cannot be asked.";
  if (model.host === null) return "Comes along: quotes the site, needs no network, costs nothing. It does not count for visibility.";
  const price = model.mostPerCall > 0 ? `at most ${cost(model.mostPerCall)} per question` : "no price is set";
  return `${model.model} at ${model.host}, ${price}`;
}

function Cost({ models, wanted, sites }: Omit<Props, "onChange">) {
  const found = estimate(wanted, models.items, sites);
  const most = found.total ?? found.perSite;
  return (
    <Alert color={found.stopped ? "orange" : "gray"} title="What it may cost" role="status">
      <Text size="sm" component="div">
        {many(found.calls, "question")} per site
        {sites !== null && sites > 1 && `, ${count(found.calls * sites)} in all`}.{" "}
        {most === 0 ? "They cost nothing." : `At most ${cost(most)} ${found.total === null ? "per site" : "in all"}, in the currency of the prices; usually less.`}
        {found.stopped && ` The budget of ${cost(wanted.budget)} stops before that: questions that do not fit stay open.`}
      </Text>
    </Alert>
  );
}

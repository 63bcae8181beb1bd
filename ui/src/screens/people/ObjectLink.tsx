import { GoTo } from "~/blocks/links";
import { objectWords } from "./auditWords";

type Props = { kind: string | null; object: string; plain?: boolean };

/** The object of an entry as a link to its screen, where there is one. */
export function ObjectLink({ kind, object, plain }: Props) {
  const words = plain ? object : objectWords(kind, object);
  const number = /^\d{1,18}$/.test(object);
  if (kind === "job" && number) {
    return (
      <GoTo to="/jobs/$jobId" params={{ jobId: object }} inherit underline="always">
        {words}
      </GoTo>
    );
  }
  if ((kind === "task" || kind === "item") && number) {
    return (
      <GoTo to="/items/$itemId" params={{ itemId: object }} inherit underline="always">
        {words}
      </GoTo>
    );
  }
  if (kind === "stage") {
    const [pipeline, stage] = object.split("/");
    if (pipeline && stage) {
      return (
        <GoTo to="/stages/$pipeline/$stage" params={{ pipeline, stage }} inherit underline="always">
          {words}
        </GoTo>
      );
    }
  }
  if (kind === "article") {
    return (
      <GoTo to="/articles/$slug" params={{ slug: object }} inherit underline="always">
        {words}
      </GoTo>
    );
  }
  if (kind === "project" && number) {
    return (
      <GoTo to="/linking/$projectId" params={{ projectId: object }} inherit underline="always">
        {words}
      </GoTo>
    );
  }
  if (kind === "limit") {
    return (
      <GoTo to="/limits" search={{ key: object }} inherit underline="always">
        {words}
      </GoTo>
    );
  }
  if (kind === "schedule") {
    return (
      <GoTo to="/schedules" inherit underline="always">
        {words}
      </GoTo>
    );
  }
  if (kind === "user") {
    return (
      <GoTo to="/settings" search={{ tab: "users" }} inherit underline="always">
        {words}
      </GoTo>
    );
  }
  return <span className="stored">{words}</span>;
}

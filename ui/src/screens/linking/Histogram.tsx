import { useRef, type KeyboardEvent, type PointerEvent } from "react";
import { count } from "~/blocks/wording";
import type { Schemas } from "~/api/client";
import classes from "./linking.module.css";

type Step = Schemas["ScoreStep"];

type Props = {
  steps: Step[];
  /** From here on, of what waits. */
  threshold: number;
  withAccepted: boolean;
  onChange: (threshold: number) => void;
};

const KEYS: Record<string, number> = { ArrowRight: 0.01, ArrowUp: 0.01, ArrowLeft: -0.01, ArrowDown: -0.01, PageUp: 0.1, PageDown: -0.1, Home: -1, End: 1 };

/** Scores of what waits for review, and a threshold that is dragged, or moved with the arrow keys. */
export function Histogram({ steps, threshold, withAccepted, onChange }: Props) {
  const plot = useRef<HTMLDivElement>(null);
  const heights = steps.map((step) => step.review + (withAccepted ? step.accepted : 0));
  const most = Math.max(1, ...heights);
  const waiting = steps.reduce((sum, step) => sum + step.review, 0);

  function dragged(event: PointerEvent): void {
    const box = plot.current?.getBoundingClientRect();
    if (box === undefined || box.width === 0) return;
    onChange(rounded((event.clientX - box.left) / box.width));
  }
  function pressed(event: KeyboardEvent): void {
    const by = KEYS[event.key];
    if (by === undefined) return;
    event.preventDefault();
    onChange(rounded(threshold + by));
  }
  return (
    <div>
      <div
        ref={plot}
        className={classes.plot}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          dragged(event);
        }}
        onPointerMove={(event) => {
          if (event.buttons > 0) dragged(event);
        }}
      >
        {steps.map((step) => (
          <div
            key={step.fromScore}
            className={classes.step}
            title={`${step.fromScore.toFixed(2)} to ${step.toScore.toFixed(2)}: ${count(step.review)} wait, ${count(step.accepted)} accepted`}
            aria-hidden
          >
            {withAccepted && <div className={classes.accepted} style={{ height: tall(step.accepted, most) }} />}
            <div className={step.toScore > threshold ? classes.taken : classes.waiting} style={{ height: tall(step.review, most) }} />
          </div>
        ))}
        <div
          role="slider"
          tabIndex={0}
          className={classes.line}
          style={{ left: `${threshold * 100}%` }}
          aria-label={`Threshold over the scores of ${count(waiting)} waiting records`}
          aria-valuemin={0}
          aria-valuemax={1}
          aria-valuenow={threshold}
          aria-valuetext={threshold.toFixed(2)}
          onKeyDown={pressed}
        >
          <span aria-hidden>{threshold.toFixed(2)}</span>
        </div>
      </div>
      <div className={classes.axis} aria-hidden>
        <span>0</span>
        <span>0.25</span>
        <span>0.5</span>
        <span>0.75</span>
        <span>1</span>
      </div>
    </div>
  );
}

function tall(value: number, most: number): string {
  return value === 0 ? "0" : `max(2px, ${(value / most) * 100}%)`;
}

function rounded(value: number): number {
  return Math.round(Math.min(1, Math.max(0, value)) * 100) / 100;
}

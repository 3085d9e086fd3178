/** Looks of every dialog of ours, on Node-RED's own theme variables so that dark themes work. Added to the page once. */
export const FORM_STYLES = `
.sluice-form { --sluice-label: 150px; --sluice-quiet: color-mix(in srgb, var(--red-ui-primary-text-color, #555) 88%, transparent); container-type: inline-size; }
.sluice-form [hidden] { display: none !important; }
.sluice-form .sluice-row { margin: 0 0 12px; }
.sluice-form .sluice-field { display: flex; align-items: flex-start; gap: 10px; }
.sluice-form .sluice-field > label { flex: 0 0 var(--sluice-label); width: auto; margin: 0; padding-top: 7px; cursor: default; }
.sluice-form .sluice-field > label > i { display: inline-block; width: 18px; text-align: center; margin-right: 2px; }
.sluice-form .sluice-field > input:not([type=checkbox]),
.sluice-form .sluice-field > textarea,
.sluice-form .sluice-field > select { flex: 1 1 auto; width: auto; min-width: 0; margin: 0; box-sizing: border-box; }
.sluice-form .sluice-field > input.sluice-number { flex: 0 0 120px; }
.sluice-form .sluice-field > div:not(.sluice-joined) { flex: 1 1 auto; width: auto !important; min-width: 0; }
.sluice-form .sluice-field > div:not(.sluice-joined) > select { width: auto; min-width: 0; margin: 0; }
.sluice-form .sluice-field > div:not(.sluice-joined) > .red-ui-button { flex: none; box-sizing: border-box; }
.sluice-form .sluice-field > .sluice-unit { padding-top: 7px; color: var(--sluice-quiet); }
.sluice-form .sluice-field > .sluice-joined { display: flex; flex: 1 1 auto; min-width: 0; }
.sluice-form .sluice-joined > .sluice-prefix { padding: 0 8px; line-height: 32px; white-space: nowrap; border: 1px solid var(--red-ui-form-input-border-color, #ccc); border-right: 0; border-radius: 5px 0 0 5px; color: var(--sluice-quiet); background: var(--red-ui-tertiary-background, #f7f7f7); font-family: var(--red-ui-monospace-font, monospace); font-size: 12px; }
.sluice-form .sluice-joined > input { flex: 1 1 auto; min-width: 0; width: auto; margin: 0; border-radius: 0 5px 5px 0; }
.sluice-form .sluice-check { display: flex; align-items: flex-start; gap: 8px; margin-left: calc(var(--sluice-label) + 10px); }
.sluice-form .sluice-check > input { flex: none; width: auto; margin: 3px 0 0; }
.sluice-form .sluice-check > label { flex: 1; width: auto; margin: 0; }
.sluice-form .sluice-hint,
.sluice-form .sluice-reason { margin: 4px 0 0 calc(var(--sluice-label) + 10px); font-size: 12px; line-height: 1.45; color: var(--sluice-quiet); }
.sluice-form .sluice-check + .sluice-hint { margin-left: calc(var(--sluice-label) + 31px); }
.sluice-form .sluice-reason { color: var(--red-ui-text-color-error, #b3261e); }
.sluice-form .sluice-reason::before { content: "\\26A0"; margin-right: 5px; }
.sluice-form .sluice-checklist { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 4px 12px; max-height: 240px; overflow-y: auto; }
.sluice-form .sluice-checklist > label { display: flex; align-items: center; gap: 6px; width: auto; margin: 0; overflow-wrap: anywhere; }
.sluice-form .sluice-checklist input { flex: none; width: auto; margin: 0; }
.sluice-form code { font-size: 12px; padding: 1px 4px; overflow-wrap: anywhere; white-space: normal; color: inherit; }
.sluice-form .sluice-url { display: flex; align-items: center; gap: 8px; margin: 6px 0 0 calc(var(--sluice-label) + 10px); }
.sluice-form .sluice-hint code { padding: 0; }
.sluice-form .sluice-url > code { padding: 0; font-size: 11px; background: none; border: 0; user-select: all; }
.sluice-form .sluice-url > .sluice-copy { flex: none; }
.sluice-form .sluice-advice { margin: 8px 0 0 calc(var(--sluice-label) + 10px); padding: 8px 10px; border-left: 3px solid #d18f1f; border-radius: 0 4px 4px 0; font-size: 12px; line-height: 1.45; color: var(--red-ui-primary-text-color, #444); background: rgba(209, 143, 31, .1); }
.sluice-form .sluice-advice > .red-ui-button { margin-top: 6px; }
.sluice-form .sluice-note { border-left-color: #5b87b5; background: rgba(91, 135, 181, .1); }
.sluice-form details { margin: 0 0 12px; border: 1px solid var(--red-ui-secondary-border-color, #ddd); border-radius: 5px; }
.sluice-form summary { padding: 8px 12px; cursor: pointer; font-weight: 500; list-style-position: inside; }
.sluice-form details[open] > summary { border-bottom: 1px solid var(--red-ui-secondary-border-color, #ddd); margin-bottom: 12px; }
.sluice-form details > .sluice-row { margin-left: 12px; margin-right: 12px; }
.sluice-form details .sluice-field > label,
.sluice-form details { --sluice-label: 137px; }
.sluice-form .sluice-group { --sluice-label: 137px; margin: 0 0 12px; padding: 2px 0 1px 11px; border-left: 2px solid var(--red-ui-secondary-border-color, #ddd); }
.sluice-form :focus-visible { outline: 2px solid var(--red-ui-form-input-focus-color, #5b87b5); outline-offset: 1px; }
@container (max-width: 400px) {
  .sluice-form .sluice-field { flex-wrap: wrap; }
  .sluice-form .sluice-field > label { flex-basis: 100%; }
  .sluice-form .sluice-hint, .sluice-form .sluice-reason, .sluice-form .sluice-advice,
  .sluice-form .sluice-check, .sluice-form .sluice-url, .sluice-form .sluice-check + .sluice-hint { margin-left: 0; }
}
`;

import type { Form } from './form';

/**
 * Shows the URL that a node answers under in `data-text="url"`, broken between segments where it is long, and lets the
 * form's copy button copy it.
 */
export function showAddress<Config extends object>(form: Form<Config>, path: () => string): void {
  const address = () => {
    const root = RED.settings.httpNodeRoot ?? '/';
    return `${window.location.origin}${root.endsWith('/') ? root : `${root}/`}${path()}`;
  };
  form.onChange(() => {
    for (const element of form.root.querySelectorAll('[data-text=url]')) {
      const parts = address().split(/(?<=[^/]\/)/);
      element.replaceChildren(...parts.flatMap((part) => [document.createElement('wbr'), part]));
    }
  });
  const button = form.root.querySelector('.sluice-copy');
  button?.addEventListener('click', () =>
    RED.clipboard.copyText(address(), $(button), 'clipboard.copyMessageValue'),
  );
}

declare module 'snappyjs' {
  export function compress(bytes: Buffer): Buffer;
}

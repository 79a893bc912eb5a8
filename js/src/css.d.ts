/** A style sheet with what it imports, as text. */
declare module "*.css?inline" {
  const text: string;
  export default text;
}

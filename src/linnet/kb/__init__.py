"""The knowledge base: one SQLite file of concepts, their names and parents, that is searched, edited and built."""

from linnet.kb.knowledge_base import APPLICATION_ID, SCHEMA_VERSION, KbName, KnowledgeBase, Mask, kb_path

__all__ = ["APPLICATION_ID", "SCHEMA_VERSION", "KbName", "KnowledgeBase", "Mask", "kb_path"]
